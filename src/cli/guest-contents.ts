import { GUEST } from "../bridges/wasm/guest-state.ts";
import type { DataDirectory } from "./data-directory.ts";
import { actorsOf } from "../bridges/operate/paging.ts";
import { openToRead } from "./reading.ts";

/** What guests hold besides their chains, in a data directory: an export is of chains. */
const BESIDE = ["content.db", "guests"];

/** What has to be copied beside an export of this directory. Nothing where no guest is in it. */
export const besideExport = async (directory: DataDirectory, kind?: string): Promise<readonly string[]> => {
  if (kind !== undefined && kind !== GUEST) return [];
  const { store } = await openToRead({ data: directory.path });
  await using _ = store;
  for await (const _guest of actorsOf(store, { kind: GUEST, page: 1 })) return BESIDE;
  return [];
};

/** For people. */
export const besideText = (beside: readonly string[]): string =>
  beside.length === 0 ? "" : ` What guests store is not in it: copy ${beside.join(" and ")} too (docs/guide/backup.md).`;
