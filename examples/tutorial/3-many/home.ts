import { actor } from "troupe";
import * as z from "zod";
import { list } from "./list.ts";

export const home = actor("home", {
  description: "The shopping lists of our home.",
  per: "shared",
  state: z.object({}),
  links: { list: { kind: list, by: "purpose" } },
  tools: {
    open_list: {
      description: "Open a new shopping list.",
      input: z.object({ purpose: z.string().regex(/^[a-z]{1,30}$/), shop: z.string().max(100) }),
      run({ args, create, settled }) {
        create(list.at(args.purpose), { shop: args.shop });
        return settled(`The list ${args.purpose} is open.`);
      },
    },
  },
});
