// The code of docs/guide/secrets.md.
import { actor } from "troupe";
import * as z from "zod";

const Login = z.object({ name: z.string(), password: z.string() });

export const account = actor("account", {
  description: "Signs in elsewhere.",
  per: "user",
  state: z.object({ name: z.string().default("") }),
  tools: {
    sign_in: {
      description: "Sign in.",
      input: Login,
      secret: ["password"],
      run({ state, args, record }) {
        state.name = args.name;
        record({ tried: `${args.name}:${args.password}` });
      },
    },
  },
});
