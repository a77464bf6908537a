/**
 * Shortens descriptions of tools for models that limit their length. Nothing is lost: the system message has the whole
 * description.
 */
const SEE_SYSTEM = '… (The system message has the full description.)';

/** Adds the whole of a description beyond the limit to `overflow`. `limit`: in characters; 0: none. */
export function shortenDescription(
  { name, description }: { name: string; description: string },
  limit: number,
  overflow: string[],
): string {
  if (limit === 0 || description.length <= limit) return description;
  overflow.push(`Description of the tool "${name}":\n${description}`);
  // not within a surrogate pair
  const start = description.slice(0, Math.max(0, limit - SEE_SYSTEM.length)).replace(/[\ud800-\udbff]$/, '');
  return (start + SEE_SYSTEM).slice(0, limit);
}
