/** What a command that reads found missing: it does its work all the same, and then says so and ends with exit code 5. */
export interface NotedLoss {
  readonly code: string;
  readonly message: string;
}

let noted: NotedLoss | undefined;

export const noteLoss = (loss: NotedLoss): void => {
  noted = loss;
};

/** Once: a process may run another command. */
export const takeLoss = (): NotedLoss | undefined => {
  const loss = noted;
  noted = undefined;
  return loss;
};
