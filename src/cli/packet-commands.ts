import { type Command, Option } from "commander";
import type { Wanted } from "./list-capabilities.ts";
import { wholeNumber } from "./option-parsers.ts";
import type { PacketPlace } from "./packet-place.ts";

const placed = (command: Command): Command =>
  command
    .option("--url <url>", "where packets are taken: http(s)://, ws(s):// or tcp://host:port", "http://127.0.0.1:3000/packets")
    .addOption(new Option("--token <token>", "who asks; better in the environment, where others do not see it").env("TROUPE_TOKEN"))
    .option("--timeout <ms>", "how long a reply may take", wholeNumber(1), 60_000)
    .option("--json", "one JSON value per line");

const collect = (field: string, before: readonly string[] | undefined): readonly string[] => [...(before ?? []), field];

export const registerPacketCommands = (program: Command): void => {
  const packet = program.command("packet").description("Packets: the second way to capabilities, beside MCP.");

  placed(
    packet
      .command("send")
      .description("Send packets, one after the other, and print their replies.")
      .argument("<file>", "one packet as JSON, or one a line; - is standard input"),
  ).action(async (file: string, options: PacketPlace) => (await import("./send-packets.ts")).sendPackets(file, options));

  placed(
    program
      .command("capabilities")
      .description("List what a server can be asked for.")
      .argument("[words...]", "of its intent: any of them is enough"),
  )
    .option("--needs <field>", "what requires this field; repeatable", collect)
    .option("--gives <field>", "what provides this field; repeatable", collect)
    .action(async (words: string[], options: PacketPlace & Omit<Wanted, "words">) =>
      (await import("./list-capabilities.ts")).listCapabilities({ ...options, words }, options),
    );
};
