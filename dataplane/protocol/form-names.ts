/** Names of a form's fields that servers may take for a path: `parameters[duration]`, `parameters.duration`, `n[]`. */

/** Longer ones are no path. No name in a form is longer, because the headers of a part are not. */
const MAX_NAME = 8 * 1024;

/** The names along the path; a name without brackets and dots is one. */
export function pathSegments(name: string): readonly string[] {
  return name.length > MAX_NAME ? [] : name.split(/[[\].]/);
}
