/** Paths of fields in an object, as error messages show them. */

/** A field's name or a list's index. */
export type PathSegment = string | number;
export type FieldPath = readonly PathSegment[];

export interface FieldError {
  /** The path as Kubernetes writes it: `spec.models[0].name`; empty for the object itself. */
  readonly path: string;
  readonly segments: FieldPath;
  readonly message: string;
  /** True if the value does not have its schema's type, so that rules about it cannot be evaluated. */
  readonly blocksRules: boolean;
}

/** An error about one field. */
export function fieldError(segments: FieldPath, message: string, blocksRules = false): FieldError {
  return { path: formatPath(segments), segments, message, blocksRules };
}

/** `['spec', 'models', 0, 'name']` → `spec.models[0].name`. */
export function formatPath(segments: FieldPath): string {
  const parts = segments.map((segment) => (typeof segment === 'number' ? `[${segment}]` : `.${segment}`));
  return parts.join('').replace(/^\./, '');
}

/** True if `path` is `ancestor` or lies below it. */
export function isWithin(path: FieldPath, ancestor: FieldPath): boolean {
  return ancestor.every((segment, index) => path[index] === segment);
}
