import assert from "node:assert/strict";
import { test } from "node:test";
import { Command } from "commander";
import { COMMAND_GROUPS, groupsFor } from "./command-groups.ts";

void test("a group of commands defines those by whose names it is found", async () => {
  for (const group of COMMAND_GROUPS) {
    const program = new Command();
    await group.register(program, "0");
    assert.deepEqual(
      program.commands.map((command) => command.name()),
      group.names,
    );
    assert.deepEqual(
      program.commands.flatMap((command) => command.aliases()),
      [],
    );
  }
});

void test("a command needs its own group, and whatever may ask for help needs all", () => {
  assert.deepEqual(
    groupsFor(["letters", "list"]).map(({ names }) => names),
    [["state", "call", "stop", "restart", "letters"]],
  );
  for (const argv of [[], ["--help"], ["help", "serve"], ["sevre"], ["--json", "serve"]])
    assert.equal(groupsFor(argv), COMMAND_GROUPS, argv.join(" "));
});

void test("help tells every default in words that could be typed", async () => {
  const ofAll = (commands: readonly Command[]): readonly Command[] => commands.flatMap((one) => [one, ...ofAll(one.commands)]);
  for (const group of COMMAND_GROUPS) {
    const program = new Command();
    await group.register(program, "0");
    for (const command of ofAll(program.commands)) assert.doesNotMatch(command.helpInformation(), /default:\s+[{[]/, command.name());
  }
});
