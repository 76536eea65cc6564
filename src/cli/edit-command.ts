import type { Command } from "commander";
import type { JsonObject } from "../core/contract/index.ts";
import { moduleOption, namedActor, placedInDirectory, type Writing } from "./actor-options.ts";
import { reason } from "./option-parsers.ts";
import { output } from "./output.ts";

export interface EditOptions extends Writing {
  readonly reason: string;
  readonly as: string;
  readonly state?: string;
  readonly patch?: string;
  readonly file?: string;
  readonly force?: boolean;
  readonly allowEdit?: boolean;
}

export const registerEditCommand = (program: Command): void => {
  placedInDirectory(
    program
      .command("edit")
      .description("Write another state, as an event with a reason. Without a value, in a terminal: opens the state in $EDITOR.")
      .argument("<actor>", "kind/key"),
  )
    .requiredOption("--reason <text>", "why: it is stored with the event", reason)
    .option("--patch <json>", "a JSON Merge Patch, such as '{\"n\":3}'; null removes a member")
    .option("--state <json>", "the whole of the new state")
    .option("--file <file>", "the whole of the new state, in a file; - for standard input")
    .option("--as <name>", "who edits: it is stored with the event", "operator")
    .option("--force", "also if it does not fit the state's schema")
    .option("--allow-edit", "where no server runs: states are edited there although it is not troupe dev")
    .addOption(moduleOption())
    .action(async (actor: string, options: EditOptions) => {
      const id = await namedActor(actor);
      const { edit } = await import("./edit.ts");
      const edited = await edit(id, options);
      output(options).show({ edited }, () => editedText(id, edited));
    });
};

const editedText = (id: string, edited: JsonObject | null): string => {
  if (edited === null) return `Nothing was changed: the state of ${id} stays as it is.`;
  const { seq, checked } = edited;
  const unchecked = checked === true ? "" : " It was not checked against the state's schema.";
  return `${id} has another state, by event ${typeof seq === "number" ? seq : "?"}.${unchecked}`;
};
