/** crds/schema/structures.gen.ts: for each kind, the function that ajv makes of its schema. */
import { _, Ajv } from 'ajv';
import standalone from 'ajv/dist/standalone/index.js';
import { FORMATS } from '#crds/formats.ts';
import type { KindSchema } from '#crds/kind-schema.ts';

const HEAD = `/* Generated from crds/*.yaml by ajv: npm run generate. Do not edit. */
// @ts-nocheck: it is JavaScript
import type { ValidateFunction } from 'ajv';
import ucs2length from 'ajv/dist/runtime/ucs2length.js';
import { FORMATS as formats } from './formats.ts';

/** By kind. */
export const STRUCTURES: Readonly<Record<string, ValidateFunction>> = `;
/** The one thing that ajv's code asks for in CommonJS's way. */
const UCS2_LENGTH = /require\("ajv\/dist\/runtime\/ucs2length"\)\.default/g;

/** The text of the file. */
export function structuresText(kinds: readonly KindSchema[]): string {
  const ajv = new Ajv({ allErrors: true, strict: false, messages: false, formats: FORMATS, code: { source: true, formats: _`formats` } });
  for (const { kind, root } of kinds) ajv.addSchema(structureOf(root), kind);
  const names = kinds.map(({ kind }) => kind);
  const code = standalone.default(ajv, Object.fromEntries(names.map((name) => [name, name])))
    .replace(/^"use strict";\n?/, '').replaceAll(UCS2_LENGTH, 'ucs2length.default');
  const functions = names.map((name) => `${name}: ${new RegExp(`exports\\.${name} = (\\w+);`).exec(code)?.[1] ?? ''}`);
  return `${HEAD}{ ${functions.join(', ')} };\n\n${code.replaceAll(/exports\.\w+ = \w+;/g, '').replaceAll(/;(?=const |function )/g, ';\n')}\n`;
}

/** Without what says nothing of a value's structure. */
function structureOf<T>(schema: T): T {
  return JSON.parse(JSON.stringify(schema, (field, value: unknown) => (isRemark(field, value) ? undefined : value))) as T;
}

/** A field of this name that a kind may have is an object here. */
function isRemark(field: string, value: unknown): boolean {
  return field.startsWith('x-kubernetes-') || (field === 'default' || field === 'description') && typeof value !== 'object';
}
