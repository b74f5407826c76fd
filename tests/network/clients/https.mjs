import fs from 'node:fs';
import https from 'node:https';

const ca = fs.readFileSync('ca.pem');
const get = (family, host, port) =>
  new Promise((done) => {
    const options = { ca, family: family === 'any' ? 0 : Number(family), agent: false };
    https
      .get(`https://${host}:${port}/`, options, (response) => {
        let body = '';
        response.on('data', (more) => (body += more));
        response.on('end', () => done(body));
      })
      .on('error', () => done('refused'));
  });

const args = process.argv.slice(2);
while (args.length > 0) {
  const [family, host, port] = args.splice(0, 3);
  console.log(`${family} ${host} ${port}: ${await get(family, host, port)}`);
}
