/** What the architecture rules look at in one file. source.ts reads it from text, rules.ts judges it. */

/** A file as the rules take it: the path is relative to the repository, with forward slashes. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

export interface Import {
  /** As written; undefined: computed at run time. */
  readonly specifier: string | undefined;
  /** Path of the file, where it is one of the repository's. */
  readonly file: string | undefined;
  readonly typeOnly: boolean;
  /** What is imported, by its own name; empty: the whole module, or only for its effects. */
  readonly names: readonly string[];
  readonly line: number;
}

export interface FunctionFacts {
  /** Empty: a callback or another function without a name of its own. */
  readonly name: string;
  readonly line: number;
  readonly lines: number;
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
  /** `Object.defineProperty`, `app.server.on`; what is not a name is left out: `createRequire(url)('x')` has "". */
  readonly callee: string;
  /** The first argument: a text as it is, a name such as `Pool.prototype`; undefined: anything else. */
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
  /** Names that the file declares itself: parameters, variables, functions, classes. */
  readonly declared: ReadonlySet<string>;
  /** Lines of `any` in a type, without a comment beside or above that says why. */
  readonly bareAny: readonly number[];
}

export interface Violation {
  readonly rule:
    | 'folder' | 'arrow' | 'package' | 'cycle' | 'barrel' | 'size' | 'median' | 'small' | 'purity' | 'wiring' | 'any'
    | 'private';
  readonly path: string;
  readonly line: number;
  readonly message: string;
}
