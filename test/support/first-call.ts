/** The first call of the chart's NOTES. */

const BEGINNING = "kubectl apply -f - <<'EOF'\n";

/** The commands that a user pastes, from the first to the last; only commands follow the introduction. */
export function firstCallCommands(notes: string): string {
  const start = notes.indexOf('\nkubectl wait --for condition=Available ');
  if (start === -1 || !notes.includes(BEGINNING)) throw new Error(`the notes have no first call:\n${notes}`);
  return notes.slice(start + 1);
}

/** The applied manifests, as YAML. */
export function firstCallManifests(notes: string): string {
  const commands = firstCallCommands(notes);
  return commands.slice(commands.indexOf(BEGINNING) + BEGINNING.length, commands.indexOf('\nEOF\n') + 1);
}
