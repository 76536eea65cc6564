import { CONTENT, type Json } from "../../core/contract/index.ts";
import { filled } from "./blobs.ts";
import { toReply } from "./marks.ts";
import type { Look } from "./state-cell.ts";
import { wordsOf } from "./words-of.ts";

/**
 * Many states at once, by name. Those that cannot be written are named in a block beside the others, not among them: a state
 * may have any name. An error where that is all there is to tell.
 */
export async function snapshotOf(looks: readonly (readonly [name: string, look: Look])[]): Promise<Json> {
  const values: [string, Json][] = [];
  const faults: string[] = [];
  for (const [name, look] of looks) {
    try {
      if (look.fault !== undefined) throw look.fault;
      values.push([name, await filled(look)]);
    } catch (error) {
      faults.push(`${name}: ${wordsOf(error, "It")}`);
    }
  }
  const structured = Object.fromEntries(values);
  if (faults.length === 0) return toReply(structured);
  const texts = [JSON.stringify(structured), `These states cannot be shown. ${faults.join(" ")}`];
  return { [CONTENT]: texts.map((text) => ({ type: "text", text })), structured, isError: values.length === 0 };
}
