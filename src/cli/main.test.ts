import assert from "node:assert/strict";
import { test } from "node:test";
import { Command } from "commander";
import { COMMANDS, commandsFor } from "./main.ts";

const defined = async (name: string): Promise<Command> => {
  const program = new Command();
  for (const load of commandsFor([name])) (await load()).register(program, "0");
  return program;
};

void test("a command's file defines the command by whose name it is found", async () => {
  for (const name of Object.keys(COMMANDS)) {
    const program = await defined(name);
    assert.deepEqual(
      program.commands.map((command) => command.name()),
      [name],
    );
    assert.deepEqual(
      program.commands.flatMap((command) => command.aliases()),
      [],
    );
  }
});

void test("a command needs its own file, and help and hints need all", () => {
  assert.deepEqual(commandsFor(["letters", "list"]), [COMMANDS["letters"]]);
  for (const argv of [[], ["--help"], ["help", "serve"], ["sevre"], ["--json", "serve"]])
    assert.deepEqual(commandsFor(argv), Object.values(COMMANDS), argv.join(" "));
});

const helpOf = async (name: string): Promise<string> => (await defined(name)).commands[0]?.helpInformation() ?? "";

void test("help offers a cluster to those commands that can do theirs on one", async () => {
  for (const name of ["fork", "checkpoint"]) assert.doesNotMatch(await helpOf(name), /--engine|--secret-file/, name);
  for (const name of ["chain", "call"]) assert.match(await helpOf(name), /--engine[^]*--secret-file/, name);
});

void test("help says what is served over HTTP if no address is given", async () => {
  assert.match(await helpOf("serve"), /--http[^-]*127\.0\.0\.1:3000/);
  assert.match(await helpOf("theater"), /--http[^-]*\(default: none\)/);
});

void test("help shows every default in words that could be typed", async () => {
  const withSubcommands = (commands: readonly Command[]): readonly Command[] =>
    commands.flatMap((one) => [one, ...withSubcommands(one.commands)]);
  for (const name of Object.keys(COMMANDS))
    for (const command of withSubcommands((await defined(name)).commands))
      assert.doesNotMatch(command.helpInformation(), /default:\s+[{[]/, command.name());
});
