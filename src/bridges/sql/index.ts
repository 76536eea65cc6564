export { sqliteSql, type SqliteSqlOptions } from "./runner.ts";
