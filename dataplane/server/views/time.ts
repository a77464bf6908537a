/** [P] Formats times in responses. */

/** RFC 3339 in UTC, with milliseconds only where they are not 0: "2027-01-01T00:00:00Z". */
export function formatTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace('.000Z', 'Z');
}
