import { causeTree, type Cause, rootCause } from "../core/chain/index.ts";
import { notFound } from "./exit-code.ts";
import type { Place } from "./cluster-place.ts";
import { oneLine, output, paint } from "./output.ts";
import { openToRead } from "./reading.ts";

const causeLines = (cause: Cause, depth = 0): readonly string[] => [
  `${"  ".repeat(depth)}${cause.header.actor} #${cause.header.seq} ${oneLine(cause.header.type)} ${paint("dim", cause.id.slice(0, 12))}`,
  ...cause.effects.flatMap((effect) => causeLines(effect, depth + 1)),
  ...(cause.cut ? [`${"  ".repeat(depth + 1)}…`] : []),
];

export const printCauses = async (event: string, options: Place): Promise<void> => {
  const { store } = await openToRead(options);
  await using _ = store;
  const root = await rootCause(event, store);
  const tree = root === undefined ? undefined : await causeTree(root, store);
  if (tree === undefined) throw notFound(`There is no event ${event}; "troupe chain <actor> --json" prints ids.`);
  output(options).show(tree, () => causeLines(tree).join("\n"));
};
