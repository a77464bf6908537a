/** [P] The names that people type, as names of objects. */

/** "My CI Bot" → "my-ci-bot": the name that an object can have; empty if nothing of it can be kept. */
export function nameOf(typed: string): string {
  const plain = typed.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return plain
    .replace(/[^a-z0-9.]+/g, '-')
    .slice(0, MAX_NAME_LENGTH)
    .replace(/^[-.]+|[-.]+$/g, '');
}

export const MAX_NAME_LENGTH = 63;
