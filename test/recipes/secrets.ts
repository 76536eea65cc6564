// The code of docs/recipes/secrets.md.
import { actor, refuse } from "troupe";
import * as z from "zod";

/** Stands for the other service. The key of this server comes from the environment, never from a client. */
async function accountOf(token: string, _serverKey = process.env["SERVICE_KEY"]): Promise<string | undefined> {
  return token.startsWith("tok_") ? `account-${token.length}` : undefined;
}

export const mail = actor("mail", {
  description: "Your mail account.",
  per: "user",
  state: z.object({ account: z.string().optional() }),
  tools: {
    connect: {
      description: "Connect your mail account.",
      input: z.object({ token: z.string().min(8) }),
      secret: ["token"],
      async work({ state, args, record }) {
        record({ tried: args.token });
        state.account = (await accountOf(args.token)) ?? refuse("The service does not know this token.");
        return `Connected ${state.account}.`;
      },
    },
  },
});
