// The code of docs/recipes/files.md.
import { actor, blob, content, refuse } from "troupe";
import * as z from "zod";

export const avatar = actor("avatar", {
  description: "Your picture.",
  per: "user",
  state: z.object({ png: z.base64().optional() }),
  tools: {
    upload: {
      description: "Store a PNG picture of at most 300 KB.",
      input: z.object({ png: z.base64().max(400_000) }),
      run({ state, args }) {
        if (!args.png.startsWith("iVBORw0KGgo")) refuse("That is not a PNG file.");
        state.png = args.png;
      },
    },
    show: {
      description: "Show your picture.",
      view: ({ state: { png } }) =>
        png === undefined ? "You have no picture." : content(["Your picture:", { type: "image", data: png, mimeType: "image/png" }]),
    },
  },
  resources: {
    avatar: {
      uri: "avatar://mine",
      mimeType: "image/png",
      view: ({ state }) => blob(state.png ?? refuse("No picture.", { code: "UNKNOWN" })),
    },
  },
});
