/** [P] Describes mistakes in a folder of manifests, with their positions. */

/** One mistake. Messages contain no value of a Secret. */
export interface Diagnostic {
  readonly severity: 'Error' | 'Warning';
  readonly file: string;
  /** Counted from 1. 0: the file or folder as a whole. */
  readonly line: number;
  /** Counted from 1. */
  readonly column?: number;
  /** "Kind namespace/name" */
  readonly object?: string;
  /** The path of the invalid field as Kubernetes writes it, `spec.models[0].name`; empty: the whole object. */
  readonly path: string;
  readonly message: string;
}

/** A folder that cannot be put in force, with all of its mistakes. */
export class InvalidManifests extends Error {
  override readonly name = 'InvalidManifests';
  readonly diagnostics: readonly Diagnostic[];

  constructor(diagnostics: readonly Diagnostic[]) {
    super(diagnostics.map(formatDiagnostic).join('\n'));
    this.diagnostics = diagnostics;
  }
}

/** Formats one line: `file:line:column: severity: object: path: message`. */
export function formatDiagnostic({ severity, file, line, column, object, path, message }: Diagnostic): string {
  const position = line > 0 ? [line, ...(column === undefined ? [] : [column])] : [];
  const subject = [...(object === undefined ? [] : [object]), ...(path === '' ? [] : [path])];
  return [[file, ...position].join(':'), severity.toLowerCase(), ...subject, message].join(': ');
}

/** Orders by position. */
export function compareDiagnostics(a: Diagnostic, b: Diagnostic): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.line - b.line || (a.column ?? 0) - (b.column ?? 0);
}
