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

const helpOf = async (name: string): Promise<string> => {
  const program = new Command();
  for (const group of COMMAND_GROUPS) if (group.names.includes(name)) await group.register(program, "0");
  return program.commands.find((command) => command.name() === name)?.helpInformation() ?? "";
};

void test("help offers a cluster to those commands that can do theirs on one", async () => {
  for (const name of ["fork", "checkpoint"]) assert.doesNotMatch(await helpOf(name), /--engine|--secret-file/, name);
  for (const name of ["chain", "call"]) assert.match(await helpOf(name), /--engine[^]*--secret-file/, name);
});

void test("help says what is served over HTTP where nothing is named", async () => {
  assert.match(await helpOf("serve"), /--http[^-]*127\.0\.0\.1:3000/);
  assert.match(await helpOf("theater"), /--http[^-]*\(default: none\)/);
});

void test("help tells every default in words that could be typed", async () => {
  const ofAll = (commands: readonly Command[]): readonly Command[] => commands.flatMap((one) => [one, ...ofAll(one.commands)]);
  for (const group of COMMAND_GROUPS) {
    const program = new Command();
    await group.register(program, "0");
    for (const command of ofAll(program.commands)) assert.doesNotMatch(command.helpInformation(), /default:\s+[{[]/, command.name());
  }
});
