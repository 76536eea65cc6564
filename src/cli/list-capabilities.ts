import { type JsonObject, isJsonObject, type Json, TroupeError, isList } from "../core/contract/index.ts";
import { tryParseJson } from "../core/contract/internal.ts";
import { errorIn } from "../bridges/packet/client-reply.ts";
import { Capabilities, capability } from "../bridges/packet/index.ts";
import { CommandError, EXIT } from "./command-error.ts";
import { output, table } from "./output.ts";
import { openClient, packetFailure, type PacketPlace } from "./packet-place.ts";
import { textOr } from "./text-or.ts";

/** What they must be like: all of it. */
export interface Wanted {
  /** Any of them is part of the intent. */
  readonly words: readonly string[];
  readonly needs?: readonly string[];
  readonly gives?: readonly string[];
}

/** As `packetflow://capabilities` has it. */
interface Listed {
  readonly id: string;
  readonly intent: string;
  readonly requires: readonly string[];
  readonly provides: readonly string[];
  /** All that it says. */
  readonly whole: JsonObject;
}

const LISTING = "packetflow://capabilities";

export const listCapabilities = async ({ words, needs, gives }: Wanted, place: PacketPlace): Promise<void> => {
  const out = output(place);
  const listed = await asked(place);
  const found = registryOf(listed).discover({
    intent: words.join(" "),
    ...(needs && { requires: needs }),
    ...(gives && { provides: gives }),
  });
  const ids = new Set(found.map(({ id }) => id));
  const rows = listed.filter(({ id }) => ids.has(id));
  for (const { whole } of rows) out.value(whole);
  out.text(() => (rows.length === 0 ? (listed.length === 0 ? "No capabilities." : "No capability is like that.") : capabilityTable(rows)));
};

/** The server's own way to look, so that both find the same. */
const registryOf = (listed: readonly Listed[]): Capabilities => {
  try {
    return new Capabilities(
      listed.map(({ id, intent, requires, provides }) => capability(id, { intent, requires, provides, execute: () => null })),
    );
  } catch (error) {
    throw error instanceof TroupeError ? unclear(error.message) : error;
  }
};

const unclear = (why: string): CommandError =>
  new CommandError(EXIT.failed, "NO_REPLY", `The server did not say clearly what it can be asked for: ${why}`);

const asked = async (place: PacketPlace): Promise<readonly Listed[]> => {
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

const listedIn = ({ mcp_message }: JsonObject): readonly Listed[] => {
  const { result, error } = isJsonObject(mcp_message) ? mcp_message : {};
  if (isJsonObject(result) && isList(result["contents"])) return result["contents"].flatMap(capabilitiesIn);
  throw unclear(textOr(isJsonObject(error) ? error["message"] : undefined, `its answer has no ${LISTING}.`));
};

const capabilitiesIn = (content: Json): readonly Listed[] => {
  const value = tryParseJson(textOr(isJsonObject(content) ? content["text"] : undefined, ""));
  if (!isJsonObject(value) || !isList(value["capabilities"])) throw unclear(`its ${LISTING} is none.`);
  return value["capabilities"].flatMap(listedAs);
};

const listedAs = (whole: Json): readonly Listed[] => {
  if (!isJsonObject(whole) || typeof whole["id"] !== "string" || typeof whole["intent"] !== "string") return [];
  return [{ id: whole["id"], intent: whole["intent"], requires: textsOf(whole["requires"]), provides: textsOf(whole["provides"]), whole }];
};

const textsOf = (value: Json | undefined): readonly string[] => (isList(value) ? value.filter((one) => typeof one === "string") : []);

const capabilityTable = (rows: readonly Listed[]): string =>
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
