import type { JsonObject, Viewer } from "troupe";
import { type PacketFlow, planChain, runChain } from "troupe/packet";

/** Plans a chain of capabilities from the known fields to the wanted ones, and runs it. */
export async function find(flow: PacketFlow, known: JsonObject, wanted: readonly string[], viewer: Viewer): Promise<JsonObject> {
  const plan = planChain(flow.capabilities.list(), Object.keys(known), wanted);
  if (plan === undefined) throw new Error(`Nothing leads from ${Object.keys(known).join(", ")} to ${wanted.join(", ")}.`);
  const { result } = await runChain(plan, known, { viewer, context: {} }, (id, payload, options) => flow.running.run(id, payload, options));
  return result;
}
