/** Imagen makes images by a method of its own, `:predict`; all other models of Google do by `generateContent`. */

/** By its name at the provider. */
export function isImagen(upstreamModel: string): boolean {
  return /(?:^|\/)imagen(?:-|$)/i.test(upstreamModel);
}
