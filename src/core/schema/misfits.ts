import type { Json, Offer } from "../contract/index.ts";

// A library makes objects of its own for each value it does not take, and goes on: a body full of them would cost a hundred times its size.
const FEW = 1_000;

/** Whether arguments that do not fit the schema that clients are shown are the source's to judge: whether it takes them, and in what words it does not. */
export function judgesMisfits({ checksArguments }: Offer, args: Json): boolean {
  return checksArguments === true || (checksArguments === "misfits" && valuesIn(args, FEW) <= FEW);
}

/** How many values there are, no further than one more than `enough`. */
function valuesIn(value: Json, enough: number): number {
  if (typeof value !== "object" || value === null) return 1;
  let count = 1;
  for (const member of Object.values(value)) {
    if (count > enough) break;
    count += valuesIn(member, enough - count);
  }
  return count;
}
