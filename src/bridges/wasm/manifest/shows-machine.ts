import type { Grants } from "../manifest.ts";

export const grantsVariables = ({ environment }: Grants): boolean =>
  environment !== undefined && (environment.allowed.length > 0 || environment.prefixes.length > 0);

/** Whether it shows a guest what is the machine's: a directory, or variables. */
export const showsMachine = (grants: Grants): boolean => grants.filesystem?.path !== undefined || grantsVariables(grants);
