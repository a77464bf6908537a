/** The first call of the chart's NOTES. */

/** The commands that a user pastes, from the first to the last; only commands follow the introduction. */
export function firstCallCommands(notes: string): string {
  const start = notes.indexOf('\nkubectl wait --for condition=Available ');
  if (start === -1) throw new Error(`the notes have no first call:\n${notes}`);
  return notes.slice(start + 1);
}
