/** Names: snake_case on the wire, camelCase in TypeScript; nothing else changes. */

/** Fields with names of the user's own, or of the store's: the names inside stay. */
type Opaque =
  | "categories" | "changes" | "contributions" | "metadata" | "namespaces" | "renamed" | "signals"
  | "states" | "value" | "vectors";

const OPAQUE: ReadonlySet<string> = new Set<Opaque>([
  "categories", "changes", "contributions", "metadata", "namespaces", "renamed", "signals",
  "states", "value", "vectors",
]);

/** A name in camelCase. */
export type Camel<S> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;

/** A value of the wire with names in camelCase. */
export type Named<T> = T extends readonly (infer Each)[]
  ? Named<Each>[]
  : T extends object
    ? { [K in keyof T as Camel<K> & PropertyKey]: K extends Opaque ? T[K] : Named<T[K]> }
    : T;

/** Return the answer of the server with names in camelCase. */
export function named<T>(answer: T): Named<T> {
  return renamed(answer, (name) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())) as Named<T>;
}

/** Return arguments as the server takes them: names in snake_case, moments as text. */
export function wired<T>(given: object): T {
  return renamed(given, wireName) as T;
}

/** Return a moment as the server reads moments: "#12", Unix seconds, ISO 8601, or a name. */
export function moment(when: Date | number | string): string;
export function moment(when: Date | number | string | undefined): string | undefined;
export function moment(when: Date | number | string | undefined): string | undefined {
  return when instanceof Date ? when.toISOString() : when?.toString();
}

/** Return *name* in snake_case; "metadata.userId" and "$contains_any" stay as they are. */
export function wireName(name: string): string {
  return /[.$]/.test(name) ? name : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Whether the user made the names inside: also of a path in a filter, such as "value.person". */
function isOpaque(name: string): boolean {
  return OPAQUE.has(name) || name.includes(".");
}

function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map((each) => renamed(each, rename));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(
    entries.map(([name, each]) => [rename(name), isOpaque(name) ? each : renamed(each, rename)]),
  );
}
