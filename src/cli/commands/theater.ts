// Owns: the options of `troupe theater`. Does not own: serving (serve.ts), guests and Theater's protocol (server/theater.ts).
import { type Command, Option } from "commander";
import { parseTcp } from "../option-parsers.ts";
import { addServeOptions, type ServeOptions } from "../serve-options.ts";
import { serve } from "./serve.ts";

/** Also where `troupe theater-mcp` looks for a Theater server. */
export const THEATER_ADDRESS = "127.0.0.1:9000";

export const register = (program: Command, version: string): void => {
  addServeOptions(
    program.command("theater").description("Run WebAssembly guests, and serve Theater's management protocol to its clients."),
    "[module...]",
    "default: none",
  )
    .addOption(
      new Option("--address <address>", "where, [host:]port or the path of a Unix socket")
        .default(parseTcp(THEATER_ADDRESS, "--address"), THEATER_ADDRESS)
        .argParser((text: string) => parseTcp(text, "--address")),
    )
    .action(
      async (modules: string[], { address, ...options }: ServeOptions & { readonly address: NonNullable<ServeOptions["theaterTcp"]> }) =>
        serve(modules, { theaterTcp: address, ...options }, version),
    );
};
