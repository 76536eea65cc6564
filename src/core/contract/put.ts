/** Sets an own property whatever its name: a plain assignment to `__proto__` would change the prototype instead. */
export function put<K extends PropertyKey, T>(target: Record<K, T>, key: K, value: T): void {
  if (key === "__proto__") Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else target[key] = value;
}
