/** The actor that is a user's where none is named. */
export const ownName = (capability: string, principal: string): string => `${capability}:${principal}`;

/** It would be somebody's where none is named, and not that user's. */
export const isOthersName = (capability: string, principal: string, actor_id: string): boolean =>
  actor_id.startsWith(`${capability}:`) && actor_id !== ownName(capability, principal);
