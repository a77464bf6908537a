export type JsonRecord = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns a member that is an object, or else an empty object. */
export function recordOf(record: JsonRecord, name: string): JsonRecord {
  const member = record[name];
  return isRecord(member) ? member : {};
}
