// npm run fixtures -- DIR [PROFILE]: plays every transcript of a directory; prints a line for each and a summary, and exits with 1 if one differs.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { aboutTasks, type Fixture, readFixture } from "./fixture.ts";
import { play } from "./play.ts";

const PROFILES = ["strict", "apptheory", "apptheory-v3"] as const;

const BARE =
  "Its setup.mcp has no tools, resources or prompts, so none were here: give them, or replay it on the server it was recorded of, with replayTranscript of troupe/testing.";

const isBare = ({ setup: { mcp } }: Fixture): boolean =>
  [mcp.tools, mcp.resources, mcp.resource_templates, mcp.prompts].every(({ length }) => length === 0);

function filesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
      .filter((file) => file.endsWith(".json"))
      .toSorted();
  } catch (error) {
    console.error(`${directory} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    return process.exit(2);
  }
}

async function judged(file: string, profile: (typeof PROFILES)[number]): Promise<readonly string[] | "tasks"> {
  try {
    const fixture = readFixture(file);
    if (aboutTasks(fixture)) return "tasks";
    const wrong = await play(fixture, profile);
    return wrong.length > 0 && isBare(fixture) ? [...wrong, BARE] : wrong;
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

const [directory, wanted = "apptheory-v3"] = process.argv.slice(2);
const profile = PROFILES.find((one) => one === wanted);
if (directory === undefined || profile === undefined) {
  console.error(`npm run fixtures -- DIR [${PROFILES.join(" | ")}]`);
  process.exit(2);
}
const count = { passed: 0, failed: 0, tasks: 0 };
const files = filesIn(directory);
if (files.length === 0) console.error(`There is no transcript in ${directory}: they are files that end in .json.`);
for (const name of files) {
  const verdict = await judged(join(directory, name), profile);
  if (verdict === "tasks") {
    count.tasks += 1;
    console.log(`not run  ${name}  (tasks)`);
  } else if (verdict.length === 0) {
    count.passed += 1;
    console.log(`pass     ${name}`);
  } else {
    count.failed += 1;
    console.log(`FAIL     ${name}`);
    for (const one of verdict) console.log(`           ${one}`);
  }
}
console.log(`${count.passed} passed, ${count.failed} failed, ${count.tasks} not run, under ${profile}`);
// Transcripts that only expect tasks are not failures.
process.exitCode = count.failed > 0 || files.length === 0 ? 1 : 0;
