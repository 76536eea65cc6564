/** For logs: a message may quote what was told. */
export const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error);
