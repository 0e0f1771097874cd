//! An image of mirroring spheres by ray tracing: a pixel of the sky costs almost nothing, a pixel
//! between two mirrors many bounces.
//!
//! The spheres lie at random over a chequered floor. A ray that hits nothing has the colour of the
//! sky. A ray that hits the floor has the colour of the floor, darker in a shadow. A ray that hits
//! a sphere has a part of the sphere's colour, and the rest from the reflected ray. All numbers are
//! computed in the same order on any worker, so images are equal bit by bit.

use crate::fork::{Fork, Task};
use crate::program::{Mismatch, Program, expect_each};
use crate::random::split_mix;

/// Number of pixels that are traced serially.
const GRAIN: usize = 16;

/// Least distance at which a ray hits something, so that a ray that starts on a surface does not
/// hit the surface itself.
const NEAREST: f64 = 1.0e-6;

/// A point, a direction, or a colour.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Vector([f64; 3]);

impl Vector {
    fn dot(self, other: Vector) -> f64 {
        let (Vector([a, b, c]), Vector([x, y, z])) = (self, other);
        a * x + b * y + c * z
    }

    /// Returns this vector plus a multiple of another one.
    fn plus(self, factor: f64, other: Vector) -> Vector {
        let (Vector([a, b, c]), Vector([x, y, z])) = (self, other);
        Vector([a + factor * x, b + factor * y, c + factor * z])
    }

    fn unit(self) -> Vector {
        Vector([0.0; 3]).plus(1.0 / self.dot(self).sqrt(), self)
    }
}

#[derive(Clone, Copy, Debug)]
struct Sphere {
    centre: Vector,
    radius: f64,
    colour: Vector,
}

impl Sphere {
    /// Returns the distance along a ray at which the sphere begins. The direction has length one.
    fn distance(&self, from: Vector, direction: Vector) -> Option<f64> {
        let to_centre = self.centre.plus(-1.0, from);
        let along = to_centre.dot(direction);
        let beside = to_centre.dot(to_centre) - along * along;
        let half = self.radius * self.radius - beside;
        if half < 0.0 {
            return None;
        }
        let distance = along - half.sqrt();
        (distance > NEAREST).then_some(distance)
    }
}

/// The scene to be drawn.
#[derive(Clone, Debug)]
struct Scene {
    spheres: Vec<Sphere>,
    light: Vector,
    bounces: u32,
    side: usize,
}

impl Scene {
    fn new(side: usize, spheres: usize, bounces: u32, seed: u64) -> Scene {
        let mut state = seed;
        let mut unit = || (split_mix(&mut state) >> 11) as f64 / (1_u64 << 53) as f64;
        let spheres = (0..spheres)
            .map(|_| {
                let radius = 0.2 + 0.5 * unit();
                let (x, z) = (8.0 * unit() - 4.0, 2.0 + 8.0 * unit());
                Sphere {
                    centre: Vector([x, radius + 1.5 * unit(), z]),
                    radius,
                    colour: Vector([unit(), unit(), unit()]),
                }
            })
            .collect();
        Scene {
            spheres,
            light: Vector([-0.4, 0.8, -0.45]).unit(),
            bounces,
            side,
        }
    }

    /// Returns the colour of a pixel, a byte for each of red, green and blue.
    fn pixel(&self, number: usize) -> u32 {
        let (row, column) = (number / self.side, number % self.side);
        let across = (2 * column + 1) as f64 / self.side as f64 - 1.0;
        let down = (2 * row + 1) as f64 / self.side as f64 - 1.0;
        let eye = Vector([0.0, 1.2, -3.0]);
        let Vector(colour) = self.trace(eye, Vector([across, -down, 1.5]).unit());
        let byte = |part: f64| (part.clamp(0.0, 1.0) * 255.0) as u32;
        byte(colour[0]) << 16 | byte(colour[1]) << 8 | byte(colour[2])
    }

    fn trace(&self, mut from: Vector, mut direction: Vector) -> Vector {
        let mut colour = Vector([0.0; 3]);
        let mut share = 1.0;
        for _ in 0..=self.bounces {
            let floor = (direction.0[1] < 0.0).then(|| -from.0[1] / direction.0[1]);
            let sphere = self.nearest(from, direction);
            match (sphere, floor) {
                (Some((distance, sphere)), floor) if floor.is_none_or(|floor| distance < floor) => {
                    let at = from.plus(distance, direction);
                    let normal = at.plus(-1.0, sphere.centre).unit();
                    let bright = self.brightness(at, normal);
                    colour = colour.plus(0.25 * share * bright, sphere.colour);
                    share *= 0.75;
                    direction = direction.plus(-2.0 * direction.dot(normal), normal).unit();
                    from = at;
                }
                (_, Some(distance)) if distance > NEAREST => {
                    let at = from.plus(distance, direction);
                    let bright = self.brightness(at, Vector([0.0, 1.0, 0.0]));
                    return colour.plus(share * bright, chequer(at));
                }
                _ => return colour.plus(share, sky(direction)),
            }
        }
        colour
    }

    fn nearest(&self, from: Vector, direction: Vector) -> Option<(f64, &Sphere)> {
        let met = self.spheres.iter().filter_map(|sphere| {
            let distance = sphere.distance(from, direction)?;
            Some((distance, sphere))
        });
        met.reduce(|nearest, other| if other.0 < nearest.0 { other } else { nearest })
    }

    /// Returns how much light a surface gets: little if it is turned away from the light or a
    /// sphere is in between.
    fn brightness(&self, at: Vector, normal: Vector) -> f64 {
        const SHADOW: f64 = 0.2;
        let towards = normal.dot(self.light);
        if towards <= 0.0 {
            return SHADOW;
        }
        let mut spheres = self.spheres.iter();
        if spheres.any(|sphere| sphere.distance(at, self.light).is_some()) {
            SHADOW
        } else {
            SHADOW + (1.0 - SHADOW) * towards
        }
    }
}

fn chequer(Vector([x, _, z]): Vector) -> Vector {
    let white = (x.floor() + z.floor()).rem_euclid(2.0) == 0.0;
    if white {
        Vector([0.9, 0.9, 0.85])
    } else {
        Vector([0.2, 0.25, 0.3])
    }
}

fn sky(Vector([_, y, _]): Vector) -> Vector {
    Vector([0.55, 0.7, 0.95]).plus(-0.4 * y.max(0.0), Vector([1.0, 0.8, 0.4]))
}

/// Draws the image. An operation is a pixel.
///
/// ```
/// use locksley_workload::{Program, Rays, Serial, Task};
///
/// let mut rays = Rays::new(32, 10, 5, 7);
/// rays.task().run(Serial);
/// assert_eq!(rays.check(()), Ok(()));
/// ```
#[derive(Clone, Debug)]
pub struct Rays {
    scene: Scene,
    pixels: Vec<u32>,
    expected: Vec<u32>,
}

impl Rays {
    /// Creates a square image with this many pixels per side and `spheres` spheres, whose places
    /// depend on `seed`. A ray is reflected at most `bounces` times. The expected image is drawn
    /// pixel by pixel.
    pub fn new(side: usize, spheres: usize, bounces: u32, seed: u64) -> Rays {
        let scene = Scene::new(side, spheres, bounces, seed);
        let pixels = side * side;
        Rays {
            expected: (0..pixels).map(|number| scene.pixel(number)).collect(),
            pixels: vec![0; pixels],
            scene,
        }
    }

    /// Returns the image, row by row: `0xRRGGBB`.
    pub fn pixels(&self) -> &[u32] {
        &self.pixels
    }
}

impl Program for Rays {
    type Task<'p> = RaysTask<'p>;
    type Output = ();

    fn operations(&self) -> u64 {
        self.pixels.len() as u64
    }

    fn task(&mut self) -> RaysTask<'_> {
        // This is not a colour of three bytes.
        self.pixels.fill(u32::MAX);
        RaysTask {
            scene: &self.scene,
            first: 0,
            pixels: &mut self.pixels,
        }
    }

    fn check(&self, (): ()) -> Result<(), Mismatch> {
        expect_each(&self.expected, &self.pixels, |at, colour| {
            let pixel = (at / self.scene.side, at % self.scene.side);
            format!("{colour:06x} at {pixel:?}")
        })
    }
}

/// Traces some pixels.
///
/// ```
/// use locksley_workload::{Program, Rays, RaysTask, Serial, Task};
///
/// let mut rays = Rays::new(8, 3, 2, 7);
/// let task: RaysTask = rays.task();
/// task.run(Serial);
/// assert!(rays.pixels().iter().all(|pixel| *pixel < 1 << 24));
/// ```
#[derive(Debug)]
pub struct RaysTask<'p> {
    scene: &'p Scene,
    /// Number of the first pixel.
    first: usize,
    pixels: &'p mut [u32],
}

impl Task for RaysTask<'_> {
    type Output = ();

    fn run<F: Fork>(self, fork: F) {
        let RaysTask {
            scene,
            first,
            pixels,
        } = self;
        if pixels.len() <= GRAIN {
            for (number, pixel) in (first..).zip(pixels) {
                *pixel = scene.pixel(number);
            }
            return;
        }
        let middle = pixels.len() / 2;
        let (upper, lower) = pixels.split_at_mut(middle);
        let part = |first, pixels| RaysTask {
            scene,
            first,
            pixels,
        };
        fork.fork(part(first, upper), part(first + middle, lower));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn images_of_every_size_are_right() {
        for (side, spheres, bounces) in [(0, 0, 0), (1, 1, 1), (17, 5, 0), (40, 20, 8)] {
            let mut rays = Rays::new(side, spheres, bounces, 3);
            rays.task().run(Serial);
            assert_eq!(rays.check(()), Ok(()), "{side}");
        }
    }

    #[test]
    fn a_ray_meets_the_front_of_a_sphere() {
        let sphere = Sphere {
            centre: Vector([0.0, 0.0, 5.0]),
            radius: 1.0,
            colour: Vector([1.0; 3]),
        };
        let (origin, ahead) = (Vector([0.0; 3]), Vector([0.0, 0.0, 1.0]));
        assert_eq!(sphere.distance(origin, ahead), Some(4.0));
        assert_eq!(sphere.distance(origin, Vector([0.0, 1.0, 0.0])), None);
        assert_eq!(sphere.distance(Vector([0.0, 0.0, 9.0]), ahead), None);
    }

    #[test]
    fn without_spheres_there_are_sky_above_and_floor_below() {
        let scene = Scene::new(10, 0, 3, 7);
        let Vector([_, _, blue]) = scene.trace(Vector([0.0, 1.0, 0.0]), Vector([0.0, 1.0, 0.0]));
        assert!(blue > 0.5);
        let below = scene.trace(Vector([0.5, 1.0, 0.5]), Vector([0.0, -1.0, 0.0]));
        let bright = scene.brightness(Vector([0.5, 0.0, 0.5]), Vector([0.0, 1.0, 0.0]));
        assert_eq!(
            below,
            Vector([0.0; 3]).plus(bright, chequer(Vector([0.5, 0.0, 0.5])))
        );
    }

    /// A white sphere of radius 1 around (0, 1, 0), with light from straight above.
    fn one_sphere(bounces: u32) -> Scene {
        let sphere = Sphere {
            centre: Vector([0.0, 1.0, 0.0]),
            radius: 1.0,
            colour: Vector([1.0; 3]),
        };
        Scene {
            spheres: vec![sphere],
            light: Vector([0.0, 1.0, 0.0]),
            bounces,
            side: 1,
        }
    }

    #[test]
    fn brightness_follows_the_angle_and_the_shadow() {
        let scene = one_sphere(0);
        let (up, down) = (Vector([0.0, 1.0, 0.0]), Vector([0.0, -1.0, 0.0]));
        let slant = Vector([0.8, 0.6, 0.0]);
        let far = Vector([9.0, 0.0, 9.0]);
        assert_eq!(scene.brightness(far, up), 1.0, "towards the light");
        assert!((scene.brightness(far, slant) - (0.2 + 0.8 * 0.6)).abs() < 1e-12);
        assert_eq!(scene.brightness(far, down), 0.2, "away from it");
        assert_eq!(
            scene.brightness(far, Vector([1.0, 0.0, 0.0])),
            0.2,
            "beside it"
        );
        let below = Vector([0.5, -1.0, 0.0]);
        assert_eq!(scene.brightness(below, up), 0.2, "the sphere is in between");
        let top = Vector([0.0, 2.0, 0.0]);
        assert_eq!(
            scene.brightness(top, up),
            1.0,
            "a sphere is not in its own shadow"
        );
    }

    #[test]
    fn a_mirror_adds_a_quarter_of_its_own_colour() {
        // The ray goes straight down onto the sphere, and straight back up into the sky.
        let scene = one_sphere(1);
        let up = Vector([0.0, 1.0, 0.0]);
        let seen = scene.trace(Vector([0.0, 5.0, 0.0]), Vector([0.0, -1.0, 0.0]));
        let expected = Vector([0.25; 3]).plus(0.75, sky(up));
        for (got, want) in seen.0.into_iter().zip(expected.0) {
            assert!((got - want).abs() < 1e-12, "{seen:?} for {expected:?}");
        }
        // Without a bounce only the quarter remains.
        let seen = one_sphere(0).trace(Vector([0.0, 5.0, 0.0]), Vector([0.0, -1.0, 0.0]));
        assert_eq!(seen, Vector([0.25; 3]));
    }

    #[test]
    fn mirrors_show_in_the_image() {
        let images = [0, 5].map(|bounces| {
            let mut rays = Rays::new(40, 20, bounces, 3);
            rays.task().run(Serial);
            rays.pixels
        });
        assert_ne!(images[0], images[1]);
    }
}
