export { theaterFace } from "./face.ts";
export { FACE_LIMITS, faceMessageBytes, type FaceLimits, type FaceOptions, THEATER_INFO } from "./options.ts";
