/** [P] Times as answers carry them. */

/** RFC 3339, UTC; milliseconds only where there are some: "2027-01-01T00:00:00Z". */
export function formatTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace('.000Z', 'Z');
}
