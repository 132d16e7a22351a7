/** The values of keys or arguments in the order in which the script declares them. */
export function inOrder<T extends string | number>(
  names: readonly string[],
  values: Readonly<Record<string, T>> | readonly T[],
): readonly T[] {
  if (Array.isArray(values)) return values as readonly T[];
  return names.map((name) => (values as Readonly<Record<string, T>>)[name] as T);
}
