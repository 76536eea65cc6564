import { actor } from "troupe";
import * as z from "zod";
import { list } from "./list.ts";

export const home = actor("home", {
  description: "The shopping lists of our home.",
  per: "shared",
  state: z.object({}),
  links: { list: { kind: list, by: "list" } },
  tools: {
    open_list: {
      description: "Open a new shopping list.",
      input: z.object({ list: z.string().regex(/^[a-z]{1,30}$/), shop: z.string().max(100) }),
      run({ args, create, settled }) {
        create(list.at(args.list), { shop: args.shop });
        return settled(`The list ${args.list} is open.`);
      },
    },
  },
});
