const args = process.argv.slice(2);
while (args.length > 0) {
  const [family, host, port] = args.splice(0, 3);
  try {
    console.log(`${family} ${host} ${port}: ${await (await fetch(`http://${host}:${port}/`)).text()}`);
  } catch {
    console.log(`${family} ${host} ${port}: refused`);
  }
}
