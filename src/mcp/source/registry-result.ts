import { type Bag, BARE_RESULT, CONTENT, isBag, isBareResult, type Json, TroupeError, isList } from "../../core/contract/index.ts";
import { isContent, invalidInBlock } from "../../core/contract/internal.ts";
import { isStandard, type Schema } from "../../core/schema/index.ts";
import { plain } from "./registry-plain.ts";
import { check } from "./check.ts";

const NOTHING: readonly Json[] = [];

/** A result that has been looked at already, by whoever wanted to hear what is wrong with it. */
export class Settled {
  readonly value: Json;
  constructor(value: Json) {
    this.value = value;
  }
}

/**
 * What a handler returned as its callers get it: JSON, of a tool with `output` as that schema makes it. Throws `STATE_NOT_JSON`, and
 * `BAD_TURN` for what no caller should read; neither quotes a value.
 */
export function settle(value: unknown, ref: string, output?: Schema): Json | Promise<Json> {
  const where = `What ${ref} returned`;
  if (typeof value === "object" && value !== null && ref.startsWith("tools/") && isBareResult(value))
    throw new TroupeError("BAD_TURN", `${where} ${BARE_RESULT}.`);
  if (output !== undefined) return fitting(value, where, output).then((made) => readable(made, ref, where));
  return readable(plain(value, where), ref, where);
}

/** With blocks that clients can read: over one that they cannot they refuse the whole result. */
function readable(made: Json, ref: string, where: string): Json {
  if (!isBag(made)) return made;
  for (const [at, block] of blocksIn(made, ref).entries()) {
    const wrong = isBag(block) ? invalidInBlock(block) : undefined;
    if (wrong !== undefined)
      throw new TroupeError("BAD_TURN", `${where} has a block no client can read, /${at}: ${wrong}. Make blocks with text(), image(), ….`);
  }
  return made;
}

function blocksIn(made: Bag, ref: string): readonly Json[] {
  if (isContent(made)) return made[CONTENT];
  const { messages } = made;
  if (!isList(messages) || !ref.startsWith("prompts/")) return NOTHING;
  return messages.map((one) => (isBag(one) ? (one["content"] ?? null) : null));
}

async function fitting(value: unknown, where: string, output: Schema): Promise<Json> {
  if (!isContent(value)) return plain(await fitted(value, where, output), where);
  if (value["isError"] === true) return plain(value, where);
  return plain({ ...value, structured: await fitted(value["structured"], where, output) }, where);
}

async function fitted(value: unknown, where: string, output: Schema): Promise<unknown> {
  // A library's own schema may take more than JSON, and make JSON of it.
  const checked = await check(output, isStandard(output) ? value : plain(value, where));
  if ("value" in checked) return checked.value;
  throw new TroupeError("BAD_TURN", `${where} is not its \`output\`: ${checked.wrong}.`);
}
