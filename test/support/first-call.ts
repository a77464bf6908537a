/** The first call that the chart's NOTES print. */

const BEGINNING = "kubectl apply -f - <<'EOF'\n";

/** The commands as a person pastes them, from the first to the last: nothing but commands follows the introduction. */
export function firstCallCommands(notes: string): string {
  const start = notes.indexOf('\nkubectl wait --for condition=Available ');
  if (start === -1 || !notes.includes(BEGINNING)) throw new Error(`the notes have no first call:\n${notes}`);
  return notes.slice(start + 1);
}

/** What they apply, as YAML. */
export function firstCallManifests(notes: string): string {
  const commands = firstCallCommands(notes);
  return commands.slice(commands.indexOf(BEGINNING) + BEGINNING.length, commands.indexOf('\nEOF\n') + 1);
}
