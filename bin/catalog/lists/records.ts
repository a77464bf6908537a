export type JsonRecord = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A member that is an object; otherwise an empty one. */
export function recordOf(record: JsonRecord, name: string): JsonRecord {
  const member = record[name];
  return isRecord(member) ? member : {};
}
