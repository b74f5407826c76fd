// Maven and Gradle as the distribution packages them, offline; sbt by a stand-in that leaves what sbt leaves.
#include "ecosystems/checkout.h"

namespace cordon::test {
namespace {
using testing::HasSubstr;

CORDON_PROMISE(JavaTools);

constexpr const char* kMain =
    "public class A { public static void main(String[] a) { System.out.println(\"java\"); } }\n";

TEST_P(JavaTools, MavenCompilesTestsAndPackages) {
  const Checkout project(scene);
  project.file("pom.xml",
               "<project><modelVersion>4.0.0</modelVersion><groupId>g</groupId><artifactId>p</artifactId>"
               "<version>1</version><properties><maven.compiler.source>11</maven.compiler.source>"
               "<maven.compiler.target>11</maven.compiler.target>"
               "<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>"
               "<dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId>"
               "<version>4.x</version><scope>test</scope></dependency></dependencies></project>\n");
  project.file("src/main/java/A.java", kMain);
  project.file("src/test/java/ATest.java",
               "public class ATest { @org.junit.Test public void it() throws Exception { "
               "new ProcessBuilder(\"sh\", \"evil.sh\").start().waitFor(); } }\n");
  project.plant("target");
  project.commit();
  scene.tree().write("home/.m2/settings.xml", "<settings><offline>true</offline></settings>\n");
  const Finished built = project.run({"mvn", "-B", "-o", "-Dmaven.repo.local=/usr/share/maven-repo", "package"});
  EXPECT_EQ(built.code, 0) << built;
  EXPECT_EQ(project.outside("java -cp target/p-1.jar A").out, "java\n") << built;
  project.expect_held();
}

TEST_P(JavaTools, GradleBuildsWithItsDaemonOnLoopback) {
  const Checkout project(scene, {".gradle"});
  project.file("build.gradle",
               "apply plugin: 'java'\n"
               "task twin(type: Exec) { commandLine 'sh', 'evil.sh' }\n"
               "task twinOfTheDaemon { doLast { ['sh', 'evil.sh'].execute(null, projectDir).waitFor() } }\n"
               "build.dependsOn twin, twinOfTheDaemon\n");
  project.file("settings.gradle", "rootProject.name = 'p'\n");
  project.file("src/main/java/A.java", kMain);
  project.plant("build");
  project.commit();
  const Finished built = project.run({"gradle", "--offline", "build"});
  EXPECT_EQ(built.code, 0) << built;
  EXPECT_THAT(built.out, HasSubstr("Starting a Gradle Daemon")) << built;
  EXPECT_EQ(project.outside("java -cp build/libs/p.jar A").out, "java\n") << built;
  EXPECT_TRUE(gone(scene.home() + "/.gradle")) << "no daemon outlives the run";
  EXPECT_FALSE(scene.tree().exists("home/.gradle")) << "its home is the project's own";
  const Finished again = project.run({"gradle", "--offline", "build"});
  EXPECT_THAT(again.out, HasSubstr(":compileJava UP-TO-DATE")) << again;
  project.expect_held();
}

}  // namespace
}  // namespace cordon::test
