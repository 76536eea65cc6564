import { TroupeError, type ErrorCode } from "../../core/contract/index.ts";

export const isTroupeError = <C extends ErrorCode>(error: unknown, code: C): error is TroupeError<C> =>
  error instanceof TroupeError && error.code === code;
