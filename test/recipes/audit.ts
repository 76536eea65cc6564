// The code of docs/recipes/audit.md.
import { actor } from "troupe";
import { readBody, readHeader, verifyStream } from "troupe/chain";
import type { LocalEngine } from "troupe/engine";
import * as z from "zod";

export const account = actor("account", {
  description: "An account that people share.",
  state: z.object({ balance: z.int().default(0) }),
  tools: {
    deposit: {
      description: "Deposit an amount.",
      input: z.object({ amount: z.int().min(1) }),
      run({ state, args, record }) {
        record({ before: state.balance });
        state.balance += args.amount;
      },
    },
  },
});

const Message = z.object({ args: z.json(), viewer: z.object({ principal: z.string() }).optional() });

/** One line for each change: when, who, what. Throws if the history was changed. */
export async function auditLog(engine: LocalEngine, key: string): Promise<readonly string[]> {
  const { flaw } = await verifyStream(engine.history(account.id(key)));
  if (flaw !== undefined) throw new Error(`The history of ${key} is broken: ${flaw.code}`);
  const lines: string[] = [];
  for await (const event of engine.history(account.id(key))) {
    const { at, type } = readHeader(event);
    const { args, viewer } = Message.parse(readBody(event)?.message);
    lines.push(`${new Date(at).toISOString()} ${viewer?.principal ?? "unknown"} ${type} ${JSON.stringify(args)}`);
  }
  return lines;
}
