export type { SearchKind } from "./fields.ts";
export { type Hit, type Search, type SearchIndexOptions, type SearchOptions, searchIndex } from "./search.ts";
