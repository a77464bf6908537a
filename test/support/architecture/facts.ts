/** The facts that the architecture rules use, for one file. source.ts extracts them, rules.ts checks them. */

/** A file: its path is relative to the repository, with forward slashes. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

export interface Import {
  /** As written; undefined if it is computed at run time. */
  readonly specifier: string | undefined;
  /** The path of the file, if it is one of the repository's. */
  readonly file: string | undefined;
  readonly typeOnly: boolean;
  /** The imported names; empty if the whole module is imported, or only for its side effects. */
  readonly names: readonly string[];
  readonly line: number;
}

export interface FunctionFacts {
  /** Empty for a callback or another function without a name. */
  readonly name: string;
  readonly line: number;
  /** Those in its body, at any depth, without those of functions within it. */
  readonly statements: number;
  readonly parameters: number;
  /** Branches plus one. */
  readonly complexity: number;
}

/** A name used as a value. */
export interface Use {
  readonly name: string;
  /** `Date.now` → now. */
  readonly member: string | undefined;
  /** `new Date()`, `Date()`: called or made without arguments. */
  readonly withoutArguments: boolean;
  readonly line: number;
}

/** A call of a function or method. */
export interface Call {
  /** `Object.defineProperty`, `app.server.on`; other parts are left out: `createRequire(url)('x')` has "". */
  readonly callee: string;
  /** The first argument if it is a string literal, or a name such as `Pool.prototype`. */
  readonly argument: string | undefined;
  readonly line: number;
}

export interface FileFacts {
  readonly path: string;
  readonly lines: number;
  readonly imports: readonly Import[];
  /** Lines of `export … from`. */
  readonly reExports: readonly number[];
  readonly functions: readonly FunctionFacts[];
  readonly uses: readonly Use[];
  readonly calls: readonly Call[];
  /** The names that the file declares: parameters, variables, functions, classes. */
  readonly declared: ReadonlySet<string>;
  /** The lines of `any` in a type without a comment beside or above it. */
  readonly bareAny: readonly number[];
}

export interface Violation {
  readonly rule:
    'folder' | 'arrow' | 'package' | 'cycle' | 'barrel' | 'size' | 'median' | 'purity' | 'wiring' | 'any' | 'private';
  readonly path: string;
  readonly line: number;
  readonly message: string;
}
