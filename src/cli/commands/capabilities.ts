// Owns: `troupe capabilities`. Does not own: the connection (packet-client.ts), how capabilities are found (bridges/packet).
import type { Command } from "commander";
import type { Capabilities } from "../../bridges/packet/index.ts";
import { isJsonObject, isList, type Json, type JsonObject, TroupeError } from "../../core/contract/index.ts";
import { tryParseJson } from "../../core/contract/internal.ts";
import { CommandError, EXIT } from "../command-error.ts";
import { output, table, textOrElse } from "../output.ts";
import { collect } from "../option-parsers.ts";
import type { PacketServer } from "../packet-client.ts";
import { addPacketServerOptions } from "./packet.ts";

export const register = (program: Command): void => {
  addPacketServerOptions(
    program
      .command("capabilities")
      .description("List what a server can be asked for.")
      .argument("[words...]", "of its intent: any of them is enough"),
  )
    .option("--needs <field>", "what requires this field; repeatable", collect)
    .option("--gives <field>", "what provides this field; repeatable", collect)
    .action((words: string[], options: PacketServer & Omit<CapabilityFilter, "words">) => listCapabilities({ ...options, words }, options));
};

/** The filter; all of it must match. */
interface CapabilityFilter {
  /** At least one of them is in the intent. */
  readonly words: readonly string[];
  readonly needs?: readonly string[];
  readonly gives?: readonly string[];
}

/** An entry of `packetflow://capabilities`. */
interface ListedCapability {
  readonly id: string;
  readonly intent: string;
  readonly requires: readonly string[];
  readonly provides: readonly string[];
  /** The whole entry. */
  readonly whole: JsonObject;
}

const LISTING = "packetflow://capabilities";

const listCapabilities = async ({ words, needs, gives }: CapabilityFilter, place: PacketServer): Promise<void> => {
  const out = output(place);
  const listed = await requestListing(place);
  const found = (await registryOf(listed)).discover({
    intent: words.join(" "),
    ...(needs && { requires: needs }),
    ...(gives && { provides: gives }),
  });
  const ids = new Set(found.map(({ id }) => id));
  const rows = listed.filter(({ id }) => ids.has(id));
  for (const { whole } of rows) out.value(whole);
  out.text(() => (rows.length === 0 ? (listed.length === 0 ? "No capabilities." : "No capability is like that.") : capabilityTable(rows)));
};

/** Searches with the server's own code, so that both give the same results. */
const registryOf = async (listed: readonly ListedCapability[]): Promise<Capabilities> => {
  const { Capabilities, capability } = await import("../../bridges/packet/index.ts");
  try {
    return new Capabilities(
      listed.map(({ id, intent, requires, provides }) => capability(id, { intent, requires, provides, execute: () => null })),
    );
  } catch (error) {
    throw error instanceof TroupeError ? unclearReply(error.message) : error;
  }
};

const unclearReply = (why: string): CommandError =>
  new CommandError(EXIT.failed, "NO_REPLY", `The server did not say clearly what it can be asked for: ${why}`);

const requestListing = async (place: PacketServer): Promise<readonly ListedCapability[]> => {
  const { errorIn, openClient, packetFailure } = await import("../packet-client.ts");
  using client = openClient(place);
  try {
    const reply = await client.send({
      type: "mcp_request",
      payload: { mcp_message: { jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri: LISTING } } },
    });
    if (reply.type === "capability_error") throw errorIn(reply);
    return listedIn(reply.payload);
  } catch (error) {
    throw packetFailure(error);
  }
};

const listedIn = ({ mcp_message }: JsonObject): readonly ListedCapability[] => {
  const { result, error } = isJsonObject(mcp_message) ? mcp_message : {};
  if (isJsonObject(result) && isList(result["contents"])) return result["contents"].flatMap(capabilitiesIn);
  throw unclearReply(textOrElse(isJsonObject(error) ? error["message"] : undefined, `its answer has no ${LISTING}.`));
};

const capabilitiesIn = (content: Json): readonly ListedCapability[] => {
  const value = tryParseJson(textOrElse(isJsonObject(content) ? content["text"] : undefined, ""));
  if (!isJsonObject(value) || !isList(value["capabilities"])) throw unclearReply(`its ${LISTING} is none.`);
  return value["capabilities"].flatMap(listedAs);
};

const listedAs = (whole: Json): readonly ListedCapability[] => {
  if (!isJsonObject(whole) || typeof whole["id"] !== "string" || typeof whole["intent"] !== "string") return [];
  return [{ id: whole["id"], intent: whole["intent"], requires: textsOf(whole["requires"]), provides: textsOf(whole["provides"]), whole }];
};

const textsOf = (value: Json | undefined): readonly string[] => (isList(value) ? value.filter((one) => typeof one === "string") : []);

const capabilityTable = (rows: readonly ListedCapability[]): string =>
  table(
    ["capability", "needs", "gives", "actors", "intent"],
    rows.map(({ id, intent, requires, provides, whole }) => [
      id,
      requires.join(", "),
      provides.join(", "),
      whole["actor_enabled"] === true ? "yes" : "",
      intent,
    ]),
  );
