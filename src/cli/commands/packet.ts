// Owns: `troupe packet send`, and the options by which commands find a packet server. Does not own: the connection (packet-client.ts).
import { type Command, Option } from "commander";
import type { JsonObject } from "../../core/contract/index.ts";
import { CommandError } from "../command-error.ts";
import { wholeNumber } from "../option-parsers.ts";
import { output, visible } from "../output.ts";
import type { PacketServer } from "../packet-client.ts";

export const register = (program: Command): void => {
  const packet = program.command("packet").description("Packets: the second way to capabilities, beside MCP.");
  addPacketServerOptions(
    packet
      .command("send")
      .description("Send packets, one after the other, and print their replies.")
      .argument("<file>", "one packet as JSON, or one a line; - is standard input"),
  ).action(sendPackets);
};

export const addPacketServerOptions = (command: Command): Command =>
  command
    .option("--url <url>", "where packets are taken: http(s)://, ws(s):// or tcp://host:port", "http://127.0.0.1:3000/packets")
    .addOption(new Option("--token <token>", "who asks; better in the environment, where others do not see it").env("TROUPE_TOKEN"))
    .option("--timeout <ms>", "how long a reply may take", wholeNumber(1), 60_000)
    .option("--json", "one JSON value per line");

/** Sends each packet after the reply to the one before, so that they act in order. Fails with the first failure. */
const sendPackets = async (file: string, place: PacketServer): Promise<void> => {
  const { errorIn, openClient, packetFailure, readPackets } = await import("../packet-client.ts");
  const packets = await readPackets(file);
  const out = output(place);
  const show = (packet: object): void => out.show(packet, () => visible(JSON.stringify(packet, null, 2)));
  let failure: unknown;
  using client = openClient(place);
  for (const [at, packet] of packets.entries())
    try {
      const reply = await client.send(packet, {
        onProgress: (progress) => (out.json ? show(progress) : out.note(progressText(progress.payload))),
      });
      show(reply);
      if (reply.type === "capability_error") failure ??= packetFailure(errorIn(reply));
    } catch (error) {
      const ended = packetFailure(error);
      throw packets.length > 1 && ended instanceof CommandError
        ? new CommandError(ended.exit, ended.code, `Packet ${at + 1} of ${packets.length}: ${ended.message} Those after it were not sent.`)
        : ended;
    }
  if (failure !== undefined) throw failure;
};

const progressText = ({ progress, total, message }: JsonObject): string => {
  const done = typeof progress === "number" ? [typeof total === "number" ? `${progress} of ${total}` : String(progress)] : [];
  return visible([...done, ...(typeof message === "string" ? [message] : [])].join(": "));
};
